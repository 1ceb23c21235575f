(define (problem apothecary-1)
  (:domain apothecary)
  (:objects mortar1 - mortar vial1 vial2 - vial left right - hand sage mint thyme - herb
            balm tonic - remedy jar1 jar2 jar3 - jar)
  (:init (standing mortar1) (blank mortar1) (rinsed mortar1) (standing vial1) (blank vial1)
         (rinsed vial1) (standing vial2) (blank vial2) (rinsed vial2) (idle left) (idle right)
         (stocked jar1 sage) (stocked jar2 thyme) (stocked jar3 mint) (recipe-first balm sage)
         (recipe-second balm mint) (recipe-first tonic mint) (recipe-second tonic thyme))
  (:goal (and (filled vial1 tonic) (corked vial1))))
